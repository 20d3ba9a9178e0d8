// libtorch's warnings in a rank, without those about intended behaviour.
#pragma once

#include <c10/util/Exception.h>

#include <array>
#include <string>

namespace headroom {

// Applies during its lifetime, to the thread that created it.
class RankWarnings {
  class Others : public c10::WarningHandler {
    void process(const c10::Warning& warning) override {
      static constexpr std::array kMeant = {
          // Each neighbour's sends and receives have their own communicator and stream, so a stage
          // that waits for one neighbour still communicates with the other.
          "An unbatched P2P op",
          // After a failure: other ranks may not answer (DeviceMesh::leave).
          "destroy_process_group() was not called"};
      for (const char* text : kMeant) {
        if (warning.msg().find(text) != std::string::npos) return;
      }
      WarningHandler::process(warning);
    }
  };
  Others others_;
  c10::WarningUtils::WarningHandlerGuard guard_{&others_};
};

}  // namespace headroom
