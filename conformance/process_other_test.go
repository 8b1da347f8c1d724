//go:build !linux

package conformance

import "syscall"

func child() *syscall.SysProcAttr { return nil }
