// The calls of refused libraries that return text instead of a code.
extern "C" {

const char* cusparseGetErrorString(int) { return "cuSPARSE is not there on a virtual GPU"; }

}  // extern "C"
