// In the place of NVRTC: release 12.6, which compiles nothing.
#define EXPORT extern "C" __attribute__((visibility("default"))) int

EXPORT nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 6;
  return 0;
}
extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(int) {
  return "the stand-in compiles nothing";
}
EXPORT nvrtcCreateProgram() { return 1; }
EXPORT nvrtcDestroyProgram() { return 0; }
EXPORT nvrtcAddNameExpression() { return 1; }
EXPORT nvrtcCompileProgram() { return 1; }
EXPORT nvrtcGetProgramLogSize() { return 1; }
EXPORT nvrtcGetProgramLog() { return 1; }
EXPORT nvrtcGetCUBINSize() { return 1; }
EXPORT nvrtcGetCUBIN() { return 1; }
EXPORT nvrtcGetPTXSize() { return 1; }
EXPORT nvrtcGetPTX() { return 1; }
