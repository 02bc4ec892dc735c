/* Fails a chosen file operation below a directory: loaded before the C library, armed by the process itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault { COUNT, DISK_FULL, IO_ERROR, KILL, TORN, TERMINATE, INTERRUPT };

static char below[PATH_MAX];
static size_t length;
static atomic_int operations;
static int strike_at;
static enum fault kind;

void adversary_arm(const char *directory, int at, int what) {
    strike_at = at;
    kind = what;
    atomic_store(&operations, 0);
    strncpy(below, directory, sizeof below - 1);
    length = strlen(below);
}

int adversary_count(void) { return atomic_load(&operations); }

/* 0: let it pass; else the operation fails with this errno. A full disk stays full. */
static int strikes(const char *path) {
    if (!length || strncmp(path, below, length) != 0) return 0;
    int now = atomic_fetch_add(&operations, 1) + 1;
    if (kind == DISK_FULL && now >= strike_at) return ENOSPC;
    if (now != strike_at) return 0;
    switch (kind) {
    case IO_ERROR: return EIO;
    case KILL: kill(getpid(), SIGKILL); pause(); return EIO;
    case TERMINATE: kill(getpid(), SIGTERM); return 0;
    case INTERRUPT: kill(getpid(), SIGINT); return 0;
    case TORN: return -1;
    default: return 0;
    }
}

static int strikes_file(int fd) {
    if (!length) return 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strikes(path);
}

static int strikes_at(int directory, const char *path) {
    if (!length) return 0;
    if (path[0] == '/') return strikes(path);
    char link[64], whole[2 * PATH_MAX];
    ssize_t n;
    if (directory == AT_FDCWD) {
        if (!getcwd(whole, PATH_MAX)) return 0;
        n = strlen(whole);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        n = readlink(link, whole, PATH_MAX);
        if (n < 0) return 0;
    }
    snprintf(whole + n, PATH_MAX, "/%s", path);
    return strikes(whole);
}

static int fails(int found) {
    if (found == 0) return 0;
    if (found < 0) { kill(getpid(), SIGKILL); pause(); }
    errno = found;
    return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name)) dlsym(RTLD_NEXT, #name)
#define IGNORED(call) do { ssize_t result = (call); (void) result; } while (0)
#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT))
#define MODE(flags) mode_t mode = 0; if ((flags) & O_CREAT) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) {
    MODE(flags) REAL(open);
    if (WRITES(flags) && fails(strikes_at(AT_FDCWD, path))) return -1;
    return real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags) REAL(open64);
    if (WRITES(flags) && fails(strikes_at(AT_FDCWD, path))) return -1;
    return real(path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE(flags) REAL(openat);
    if (WRITES(flags) && fails(strikes_at(directory, path))) return -1;
    return real(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
    MODE(flags) REAL(openat64);
    if (WRITES(flags) && fails(strikes_at(directory, path))) return -1;
    return real(directory, path, flags, mode);
}

/* A torn write: half of it is on the disk when the process dies. */
ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    int found = strikes_file(fd);
    if (found < 0) IGNORED(real(fd, bytes, count / 2));
    return fails(found) ? -1 : real(fd, bytes, count);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    int found = strikes_file(fd);
    if (found < 0) IGNORED(real(fd, bytes, count / 2, offset));
    return fails(found) ? -1 : real(fd, bytes, count, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    REAL(pwrite64);
    int found = strikes_file(fd);
    if (found < 0) IGNORED(real(fd, bytes, count / 2, offset));
    return fails(found) ? -1 : real(fd, bytes, count, offset);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    int found = strikes_file(fd);
    if (found < 0) IGNORED(real(fd, parts, count / 2));
    return fails(found) ? -1 : real(fd, parts, count);
}
int fsync(int fd) { REAL(fsync); return fails(strikes_file(fd)) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return fails(strikes_file(fd)) ? -1 : real(fd); }
int ftruncate(int fd, off_t size) { REAL(ftruncate); return fails(strikes_file(fd)) ? -1 : real(fd, size); }
int ftruncate64(int fd, off64_t size) { REAL(ftruncate64); return fails(strikes_file(fd)) ? -1 : real(fd, size); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); return fails(strikes_at(AT_FDCWD, path)) ? -1 : real(path, mode); }
int unlink(const char *path) { REAL(unlink); return fails(strikes_at(AT_FDCWD, path)) ? -1 : real(path); }
int rename(const char *from, const char *to) { REAL(rename); return fails(strikes_at(AT_FDCWD, to)) ? -1 : real(from, to); }
int renameat(int a, const char *from, int b, const char *to) { REAL(renameat); return fails(strikes_at(b, to)) ? -1 : real(a, from, b, to); }
