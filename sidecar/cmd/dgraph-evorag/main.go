// Command dgraph-evorag stands in front of a Dgraph cluster and adds @evorag to DQL.
package main

import (
	"os"

	"github.com/evorag/dgraph-evorag/sidecar/internal/cli"
)

// version is set at build time: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	os.Exit(cli.Run(cli.Process{
		Args: os.Args[1:], Env: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version,
	}))
}
