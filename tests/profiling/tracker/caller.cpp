// A foreign shared library in a path with "headroom". See stacks_test.cpp.
extern "C" __attribute__((visibility("default"), noinline)) void call_back(void (*function)(void*),
                                                                           void* argument) {
  function(argument);
  asm volatile("" ::: "memory");  // no tail call: the frame stays
}
