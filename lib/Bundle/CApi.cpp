//===- CApi.cpp - bundles from C --------------------------------------------===//

#include "stg/Bundle/Bundle.h"
#include "stg/Bundle/stg_bundle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

using stg::bundle::Bundle;
using stg::bundle::BundleError;
using stg::bundle::TraceInfo;

struct stg_bundle {
  std::unique_ptr<Bundle> bundle;
};

namespace {

std::string &lastError() {
  thread_local std::string text;
  return text;
}

/// What `call` returns; `failure` if it throws, since no exception may reach C.
template <class Result, class Call> Result guarded(Result failure, Call call) {
  try {
    return call();
  } catch (const std::exception &error) {
    try {
      lastError() = error.what();
    } catch (const std::exception &) {
      // Not even memory for the message: the status still tells.
    }
    return failure;
  }
}

const TraceInfo *traceOf(const stg_bundle *from, size_t trace) {
  const std::vector<TraceInfo> &all = from->bundle->traces();
  if (trace < all.size())
    return &all[trace];
  lastError() = "there is no trace " + std::to_string(trace) + ": the bundle has " + std::to_string(all.size());
  return nullptr;
}

const TraceInfo *traceWith(const stg_bundle *from, size_t trace, uint32_t rank) {
  const TraceInfo *found = traceOf(from, trace);
  if (!found || rank < found->worldSize)
    return found;
  lastError() = "there is no rank " + std::to_string(rank) + ": the trace has " + std::to_string(found->worldSize);
  return nullptr;
}

} // namespace

stg_bundle *stg_bundle_open(const char *path) {
  return guarded<stg_bundle *>(nullptr, [&]() -> stg_bundle * {
    BundleError error;
    std::unique_ptr<Bundle> opened = Bundle::open(path, error);
    if (opened)
      return new stg_bundle{std::move(opened)};
    lastError() = error.what;
    return nullptr;
  });
}

void stg_bundle_close(stg_bundle *bundle) { delete bundle; }

const char *stg_bundle_error(void) { return lastError().c_str(); }

size_t stg_bundle_traces(const stg_bundle *bundle) { return bundle->bundle->traces().size(); }

const char *stg_bundle_folder(const stg_bundle *bundle, size_t trace) {
  return guarded<const char *>(nullptr, [&] {
    const TraceInfo *found = traceOf(bundle, trace);
    return found ? found->folder.c_str() : nullptr;
  });
}

const char *stg_bundle_prefix(const stg_bundle *bundle, size_t trace) {
  return guarded<const char *>(nullptr, [&] {
    const TraceInfo *found = traceOf(bundle, trace);
    return found ? found->prefix.c_str() : nullptr;
  });
}

uint32_t stg_bundle_ranks(const stg_bundle *bundle, size_t trace) {
  return guarded<uint32_t>(0, [&] {
    const TraceInfo *found = traceOf(bundle, trace);
    return found ? found->worldSize : 0;
  });
}

uint64_t stg_bundle_nodes(const stg_bundle *bundle, size_t trace, uint32_t rank) {
  return guarded<uint64_t>(0, [&] {
    const TraceInfo *found = traceWith(bundle, trace, rank);
    return found ? Bundle::classOf(*found, rank).nodes : 0;
  });
}

size_t stg_bundle_file_name(const stg_bundle *bundle, size_t trace, uint32_t rank, char *into, size_t room) {
  return guarded<size_t>(0, [&]() -> size_t {
    const TraceInfo *found = traceWith(bundle, trace, rank);
    std::string name = found ? Bundle::fileName(*found, rank) : "";
    if (room > 0) {
      size_t copied = std::min(name.size(), room - 1);
      std::memcpy(into, name.data(), copied);
      into[copied] = '\0';
    }
    return name.size();
  });
}

uint64_t stg_bundle_file_size(const stg_bundle *bundle, size_t trace, uint32_t rank) {
  return guarded<uint64_t>(0, [&] {
    const TraceInfo *found = traceWith(bundle, trace, rank);
    return found ? Bundle::fileSize(*found, rank) : 0;
  });
}

int64_t stg_bundle_read(const stg_bundle *bundle, size_t trace, uint32_t rank, uint64_t offset, void *into,
                        size_t bytes) {
  return guarded<int64_t>(-1, [&]() -> int64_t {
    const TraceInfo *found = traceWith(bundle, trace, rank);
    if (!found)
      return -1;
    BundleError error;
    std::span<char> target(static_cast<char *>(into), bytes);
    if (std::optional<size_t> read = bundle->bundle->read(*found, rank, offset, target, error))
      return static_cast<int64_t>(*read);
    lastError() = error.what;
    return -1;
  });
}

char *stg_bundle_group_file(const stg_bundle *bundle, size_t trace, size_t *bytes) {
  return guarded<char *>(nullptr, [&]() -> char * {
    const TraceInfo *found = traceOf(bundle, trace);
    if (!found)
      return nullptr;
    std::string text = Bundle::groupFile(*found);
    auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
    if (!copy)
      throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    if (bytes)
      *bytes = text.size();
    return copy;
  });
}

void stg_bundle_free(char *text) { std::free(text); }

int stg_bundle_verify(const stg_bundle *bundle) {
  return guarded(-1, [&] {
    BundleError error;
    if (bundle->bundle->verify(error))
      return 0;
    lastError() = error.what;
    return -1;
  });
}
