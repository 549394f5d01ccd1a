// Command haft-fleet runs haft's sessions on many machines.
package main

import (
	"os"

	"github.com/haftdev/haft/fleet/internal/command"
)

func main() { os.Exit(command.Main()) }
