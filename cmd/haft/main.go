// Command haft lets a language model hold tools.
package main

import (
	"os"

	"github.com/haftdev/haft/internal/cli"
)

func main() { os.Exit(cli.Main()) }
