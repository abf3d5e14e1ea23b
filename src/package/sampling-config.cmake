# find_package(sampling): sampling::sampling, the installed library, and sampling::header, to compile it yourself.
if(NOT TARGET sampling::header)
  add_library(sampling::header INTERFACE IMPORTED)
  set_target_properties(sampling::header PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "@PREFIX@/include"
                        INTERFACE_LINK_LIBRARIES m)
  add_library(sampling::sampling SHARED IMPORTED)
  set_target_properties(sampling::sampling PROPERTIES IMPORTED_LOCATION "@LIBDIR@/libsampling.so.@VERSION@"
                        IMPORTED_SONAME "libsampling.so.@SOVERSION@" INTERFACE_LINK_LIBRARIES sampling::header)
endif()
