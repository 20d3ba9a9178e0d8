// The host's limit on the addresses of a process, RLIMIT_AS. No torch here.
#pragma once

#include <string>

namespace headroom {

// "ulimit -v allows this process 2.861 GiB of addresses"; "" where nothing limits them. A limit
// reaches from a program to its children.
std::string address_limit_in_words();

}  // namespace headroom
