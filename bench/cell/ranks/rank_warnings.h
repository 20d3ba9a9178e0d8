// What libtorch warns of in a rank, less what ranks do on purpose.
#pragma once

#include <c10/util/Exception.h>

#include <array>
#include <string>

namespace headroom {

// While it lives, of the thread that made it.
class RankWarnings {
  class Others : public c10::WarningHandler {
    void process(const c10::Warning& warning) override {
      static constexpr std::array kMeant = {
          // Two neighbours' sends and receives have a communicator and a stream of their own: a
          // stage that waits for one neighbour still talks with the other.
          "An unbatched P2P op",
          // After a failure: the others may not answer (DeviceMesh::leave).
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
