# What `cmake --install BUILD --component tilesmith` puts in place of the shims: those to be preloaded beside libtilesmith, and in a folder each those
# under cuBLAS's own name, which no linker and no ldconfig should meet by chance.
install(TARGETS tilesmith_cublas12 tilesmith_cublas13 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tilesmith)
install(TARGETS tilesmith_cublas12_whole LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilesmith-cublas12 COMPONENT tilesmith)
install(TARGETS tilesmith_cublas13_whole LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilesmith-cublas13 COMPONENT tilesmith)
install(TARGETS tilesmith_cublaslt12_whole LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilesmith-cublaslt12 COMPONENT tilesmith)
install(TARGETS tilesmith_cublaslt13_whole LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilesmith-cublaslt13 COMPONENT tilesmith)
add_dependencies(tilesmith_installed tilesmith_cublas12 tilesmith_cublas13 tilesmith_cublas12_whole tilesmith_cublas13_whole
                 tilesmith_cublaslt12_whole tilesmith_cublaslt13_whole)
