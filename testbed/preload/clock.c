/*
 * Preloaded into windrose by tests (src/clock.rs): the wall clock can be set while it runs, without
 * touching the machine's; and a worker's next look at the monotonic clock can be made to fail, upon
 * which Rust's standard library panics, as it would by itself.
 *
 * CLOCK_OFFSET  a file with the seconds that the wall clock is ahead; it is read at each look
 * CLOCK_BREAK   a file; a look by a thread "rte-worker..." that finds it takes it away, and fails
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void)
{
	const char *path = getenv("CLOCK_OFFSET");
	char text[32] = "0";
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (file >= 0) {
		ssize_t length = read(file, text, sizeof(text) - 1);

		text[length > 0 ? length : 0] = 0;
		close(file);
	}
	return atol(text);
}

static int breaks(void)
{
	const char *path = getenv("CLOCK_BREAK");
	char name[16] = "";

	if (!path)
		return 0;
	prctl(PR_GET_NAME, name);
	/* Taken away, it is for one look only: the panic's own are answered, and those of the next start. */
	return strncmp(name, "rte-worker", 10) == 0 && unlink(path) == 0;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
	int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
	int kept = errno;
	int result;

	if (id == CLOCK_MONOTONIC && breaks()) {
		errno = EINVAL;
		return -1;
	}
	errno = kept;
	result = syscall(SYS_clock_gettime, id, time);
	if (result == 0 && wall)
		time->tv_sec += offset();
	return result;
}

int gettimeofday(struct timeval *time, void *zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	time->tv_sec = now.tv_sec;
	time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *where)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (where)
		*where = now.tv_sec;
	return now.tv_sec;
}
