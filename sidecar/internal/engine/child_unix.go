//go:build unix && !linux

package engine

import "syscall"

// childAttr puts a child into a process group of its own, so that a terminal's Ctrl-C reaches
// this process only and the order of stopping is ours. Only Linux can kill the children of a
// process that was killed itself.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
