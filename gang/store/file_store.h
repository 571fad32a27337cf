// A store in a file, for processes that share a file system.
#pragma once

#include <filesystem>
#include <memory>

#include "gang/runtime.h"
#include "gang/store/store.h"

namespace gang {

struct FileStoreOptions {
  std::filesystem::path path;
  // For the lock of the file, which another process holds during each write.
  Duration lock_timeout = std::chrono::minutes(1);
  // How often a wait for a key looks.
  Duration poll_interval = std::chrono::milliseconds(5);
};

// A client of the map in the file. The file is created if it does not exist, and never deleted: a
// job uses a new name, or removes what an earlier job left. It grows with every change.
//
// A process may be killed at any moment without harm to the others: its last change is there
// completely or not at all. A machine may not, since nothing is flushed to the disk. Waits sleep
// through `runtime`, which must outlive every client. Errors, besides those of Store: StoreError
// connection (the file cannot be opened, read or written), timeout (the lock), corrupt (not a store
// file, or damaged); InvalidArgument for options that are not positive. Threads: as Store; a
// process that forks makes a new client.
std::shared_ptr<Store> make_file_store(Runtime& runtime, FileStoreOptions options);

}  // namespace gang
