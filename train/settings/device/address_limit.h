// The host's limit on the address space of a process, RLIMIT_AS. No torch here.
#pragma once

#include <string>

namespace headroom {

// "ulimit -v allows this process 2.861 GiB of addresses"; "" without a limit. Child processes
// inherit the limit.
std::string address_limit_in_words();

}  // namespace headroom
