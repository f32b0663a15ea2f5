// For files that host and device read alike.
#pragma once

#ifdef __CUDACC__
#define TILESMITH_HOST_DEVICE __host__ __device__
#else
#define TILESMITH_HOST_DEVICE
#endif
