/* Stands in for pyxis: takes its arguments as pyxis does, and tells the job what it asked for. An image
 * that is a path must be there; the container itself is left out. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(pyxis, 1)

static char image[4096];

static int set_image(int value, const char *argument, int remote) {
  (void)value;
  (void)remote;
  if (argument == NULL || *argument == '\0') {
    slurm_error("pyxis: --container-image: argument required");
    return -1;
  }
  snprintf(image, sizeof(image), "%s", argument);
  return 0;
}

static struct spank_option options[] = {
    {"container-image", "[USER@][REGISTRY#]IMAGE[:TAG]|PATH",
     "[pyxis] the image to use for the container filesystem.", 1, 0, set_image},
    SPANK_OPTIONS_TABLE_END};

int slurm_spank_init(spank_t spank, int count, char **arguments) {
  (void)count;
  (void)arguments;
  return spank_option_register(spank, &options[0]) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_user_init(spank_t spank, int count, char **arguments) {
  (void)count;
  (void)arguments;
  if (image[0] == '\0') return 0;
  if (strchr(image, '/') == image && access(image, R_OK) != 0) {
    slurm_error("pyxis: couldn't open %s", image);
    return -1;
  }
  return spank_setenv(spank, "PYXIS_IMAGE", image, 1) == ESPANK_SUCCESS ? 0 : -1;
}
