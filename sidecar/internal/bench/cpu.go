//go:build unix

package bench

import (
	"syscall"
	"time"
)

// CPU is the processor time that this process has used: unlike time on a clock it is the same on a
// busy machine. An engine is another process. 0 where the system doesn't tell.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
