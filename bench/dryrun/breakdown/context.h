// The running modules, operations and phases: per thread, and of the process. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/dryrun/breakdown/ledger.h"

namespace headroom {

// Numbers of texts; 0 is "". Safe from any thread.
uint32_t number_of(std::string_view text);
std::string text_of(uint32_t number);

// A module's forward on this thread. Leaving also leaves what was entered after it.
void enter_module(uint32_t name);
void leave_module(uint32_t name);
bool is_call_over(uint64_t call);  // also if 0

void begin_backward(uint32_t place);
void end_backward();
int running_backwards();  // of all threads
void begin_optimizer();
bool end_optimizer();  // true for the outermost: an optimizer may call another
Moment moment();

// Operations on this thread. The name must stay until its pop.
void push_operation(const char* name, bool is_backward);
void pop_operation();

// Gives the name's number of the node that autograd runs on this thread, where no operation is
// pushed for it; 0: none runs.
void set_running_node(uint32_t (*node)());

// The line of the program that allocates next on this thread.
void set_place(uint32_t place, Hint hint);

// Everything that is known of an allocation on this thread; forgets its place.
Origin origin();

}  // namespace headroom
