/* Opens no device: says the library's version, which must be that of the header. */
#include <stdio.h>
#include <string.h>
#include <tilesmith/tilesmith.h>

int main(void) {
  printf("tilesmith %s, status names: %s\n", tilesmith_version(), tilesmith_status_name(TILESMITH_OK));
  return strlen(tilesmith_version()) == 0;
}
