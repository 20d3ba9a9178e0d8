// Empty on purpose: see virtual_gpu/CMakeLists.txt.
