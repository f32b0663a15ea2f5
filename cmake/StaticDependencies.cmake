# The libraries of Dependencies.cmake for a wheel: what is headers alone is used so, C libraries are linked from their archives, and so is
# the C++ library. The result needs glibc and nothing else. TILESMITH_SYSROOT holds include/ and the archives in lib/ (scripts/wheel.sh).
if(NOT EXISTS ${TILESMITH_SYSROOT}/include/fmt/core.h OR NOT EXISTS ${TILESMITH_SYSROOT}/lib/libsqlite3.a)
  message(FATAL_ERROR "TILESMITH_SYSROOT='${TILESMITH_SYSROOT}': expected a folder with include/fmt/core.h and lib/libsqlite3.a; scripts/wheel.sh makes it")
endif()

# tilesmith_static_dependency(NAME [ARCHIVE...]): a target of that name that gives the headers, and links the archives.
function(tilesmith_static_dependency name)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} SYSTEM INTERFACE ${TILESMITH_SYSROOT}/include)
  list(TRANSFORM ARGN PREPEND ${TILESMITH_SYSROOT}/lib/)
  target_link_libraries(${name} INTERFACE ${ARGN})
endfunction()
tilesmith_static_dependency(fmt::fmt)
tilesmith_static_dependency(spdlog::spdlog)
tilesmith_static_dependency(nlohmann_json::nlohmann_json)
tilesmith_static_dependency(CLI11::CLI11)
tilesmith_static_dependency(PkgConfig::SQLITE3 libsqlite3.a)
tilesmith_static_dependency(PkgConfig::ZSTD libzstd.a)
tilesmith_static_dependency(PkgConfig::XXHASH libxxhash.a)
tilesmith_static_dependency(PkgConfig::ZLIB libz.a)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
target_link_libraries(PkgConfig::SQLITE3 INTERFACE ${CMAKE_DL_LIBS} m)
