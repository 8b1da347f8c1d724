package engine

import "syscall"

// childAttr puts a child into a process group of its own, so that a terminal's Ctrl-C reaches
// this process only and the order of stopping is ours, and has the kernel kill it when this
// process dies in a way that leaves no time to stop it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
