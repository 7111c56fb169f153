// mmap of a whole file. The mapping is private and read-only: nothing we do can change the user's file.
#include "core/import/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fw {

namespace {

struct Mapping {
    void* data;
    size_t bytes;
    Mapping(void* d, size_t n) : data(d), bytes(n) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(data, bytes); }
};

struct Descriptor {
    int fd;
    ~Descriptor() { if (fd >= 0) ::close(fd); }
};

}  // namespace

Result<Blob> mapFile(const std::string& path) {
    Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) return badInput("cannot be opened (" + std::string(std::strerror(errno)) + "); check the path and its permissions", path);
    struct stat info {};
    if (::fstat(file.fd, &info) != 0) return badInput("cannot be read (" + std::string(std::strerror(errno)) + ")", path);
    if (S_ISDIR(info.st_mode)) return badInput("is a folder; open a file inside it", path);
    if (!S_ISREG(info.st_mode)) return badInput("is not a regular file; save it to a file first", path);
    if (info.st_size == 0) return badInput("is empty; copy or export it again", path);
    const auto size = size_t(info.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) return badInput("cannot be mapped (" + std::string(std::strerror(errno)) + ")", path);
    auto owner = std::make_shared<const Mapping>(data, size);
    return Blob{ByteSpan(static_cast<const std::byte*>(data), size), owner};
}

}  // namespace fw
