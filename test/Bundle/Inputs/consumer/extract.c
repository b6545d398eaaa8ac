/* extract-c BUNDLE FOLDER: writes the files of the first trace. Status 1 with the library's message on failure. */
#include "stg/Bundle/stg_bundle.h"

#include <stdio.h>
#include <string.h>

static FILE *create(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return fopen(path, "wb");
}

static int fail(void) {
  printf("%s\n", stg_bundle_error());
  return 1;
}

static int extract(const stg_bundle *bundle, uint32_t rank, const char *folder) {
  char name[256], piece[1000];
  uint64_t at = 0;
  int64_t count;
  FILE *file;
  if (stg_bundle_file_name(bundle, 0, rank, name, sizeof name) >= sizeof name || !(file = create(folder, name)))
    return 2;
  while ((count = stg_bundle_read(bundle, 0, rank, at, piece, sizeof piece)) > 0) {
    fwrite(piece, 1, (size_t)count, file);
    at += (uint64_t)count;
  }
  fclose(file);
  if (count < 0)
    return fail();
  return at == stg_bundle_file_size(bundle, 0, rank) ? 0 : 3;
}

static int extract_all(const stg_bundle *bundle, const char *folder) {
  if (stg_bundle_verify(bundle) != 0)
    return fail();
  uint32_t ranks = stg_bundle_ranks(bundle, 0);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    int status = extract(bundle, rank, folder);
    if (status != 0)
      return status;
  }
  size_t bytes = 0;
  char *groups = stg_bundle_group_file(bundle, 0, &bytes);
  FILE *file = create(folder, "comm_groups.json");
  if (!groups || !file || strlen(groups) != bytes)
    return 4;
  fwrite(groups, 1, bytes, file);
  fclose(file);
  stg_bundle_free(groups);

  char cut[4];
  printf("%u ranks of %s, %llu nodes on rank 0\n", (unsigned)ranks, stg_bundle_prefix(bundle, 0),
         (unsigned long long)stg_bundle_nodes(bundle, 0, 0));
  size_t length = stg_bundle_file_name(bundle, 0, 0, cut, sizeof cut);
  printf("%s of %u characters\n", cut, (unsigned)length);
  printf("behind the end: %d\n", (int)stg_bundle_read(bundle, 0, 0, UINT64_MAX, cut, 1));
  int64_t failed = stg_bundle_read(bundle, 0, ranks, 0, cut, 1);
  printf("no such rank: %d: %s\n", (int)failed, stg_bundle_error());
  uint32_t none = stg_bundle_ranks(bundle, 7);
  printf("no such trace: %u: %s\n", (unsigned)none, stg_bundle_error());
  return 0;
}

int main(int count, char **arguments) {
  if (count != 3)
    return 2;
  stg_bundle *bundle = stg_bundle_open(arguments[1]);
  if (!bundle)
    return fail();
  int status = extract_all(bundle, arguments[2]);
  stg_bundle_close(bundle);
  return status;
}
