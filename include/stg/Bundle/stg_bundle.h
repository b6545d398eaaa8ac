/*===- stg_bundle.h - bundles from C ----------------------------------------===
 * The traces of all ranks in one file, for simulators that read them directly: any bytes of any rank's file, without
 * the others. The library is stg::bundle of the CMake package `stgc`; C++ has stg/Bundle/Bundle.h.
 *
 * Traces of a bundle are numbered from 0, and so are the ranks of a trace. A bundle may be used by several threads at
 * once, except for closing it. No function ends the process or writes anything.
 *===------------------------------------------------------------------------===*/
#ifndef STG_BUNDLE_STG_BUNDLE_H
#define STG_BUNDLE_STG_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stg_bundle stg_bundle;

/* Opens a bundle and checks all but its segments; NULL on failure. */
stg_bundle *stg_bundle_open(const char *path);

/* NULL is allowed. */
void stg_bundle_close(stg_bundle *bundle);

/* Why the last call of this thread that failed did, one line; "" if none has. Valid until the next failure. */
const char *stg_bundle_error(void);

/* Number of traces, one for each workload; at least 1. */
size_t stg_bundle_traces(const stg_bundle *bundle);

/* Folder of a trace's files below the directory of the bundle's, "" for that itself; NULL if there is no such trace. */
const char *stg_bundle_folder(const stg_bundle *bundle, size_t trace);

/* Files are called `<prefix>.<rank>.et`; NULL if there is no such trace. */
const char *stg_bundle_prefix(const stg_bundle *bundle, size_t trace);

/* Number of ranks; 0 if there is no such trace. */
uint32_t stg_bundle_ranks(const stg_bundle *bundle, size_t trace);

/* Nodes of a rank; 0 if there is no such rank. */
uint64_t stg_bundle_nodes(const stg_bundle *bundle, size_t trace, uint32_t rank);

/* Writes the name of a rank's file, without folder, as far as it fits into `room` bytes with the closing zero. Returns
 * its length without that zero, as snprintf does; 0 if there is no such rank. */
size_t stg_bundle_file_name(const stg_bundle *bundle, size_t trace, uint32_t rank, char *into, size_t room);

/* Bytes of a rank's file; 0 if there is no such rank. */
uint64_t stg_bundle_file_size(const stg_bundle *bundle, size_t trace, uint32_t rank);

/* Copies up to `bytes` bytes of a rank's file from `offset` on. Returns how many: fewer than asked for only at the end
 * of the file, 0 behind it; -1 on failure: no such rank, or the place is damaged. */
int64_t stg_bundle_read(const stg_bundle *bundle, size_t trace, uint32_t rank, uint64_t offset, void *into,
                        size_t bytes);

/* The text of the group file with a closing zero, to be freed by stg_bundle_free; its length without that zero goes to
 * `bytes` unless NULL. Empty if no rank communicates in a group: the directory has no such file. NULL on failure. */
char *stg_bundle_group_file(const stg_bundle *bundle, size_t trace, size_t *bytes);
void stg_bundle_free(char *text);

/* Compares all checksums, which reads the whole file: 0 if nothing is damaged, else -1. */
int stg_bundle_verify(const stg_bundle *bundle);

#ifdef __cplusplus
}
#endif

#endif
