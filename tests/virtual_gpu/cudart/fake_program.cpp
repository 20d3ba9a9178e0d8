// A program of a conda environment, bin/ beside lib/: its RPATH finds the runtime, nothing else
// does.
extern "C" int cudaRuntimeGetVersion(int* version);

extern "C" int version_here() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == 0 ? version : -1;
}
