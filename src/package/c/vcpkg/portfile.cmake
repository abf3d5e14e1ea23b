# sampling.h for vcpkg, as a port beside the headers: vcpkg install sampling --overlay-ports=FOLDER/vcpkg
set(SOURCE_PATH "${CURRENT_PORT_DIR}/..")
set(VCPKG_BUILD_TYPE release) # headers alone
file(INSTALL "${SOURCE_PATH}/sampling.h" "${SOURCE_PATH}/sampling_gpu.h" "${SOURCE_PATH}/sampling.hpp" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
file(INSTALL "${SOURCE_PATH}/LICENSE" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
