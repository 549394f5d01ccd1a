package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/spf13/cobra"
)

// newToolFile, newToolScript and newToolTest are a tool that works, to be changed.
const (
	newToolFile = `---
command: sh "$HAFT_TOOL_DIR/NAME.sh"
read-only: true
concurrent: true
reads: ["{file}"]
input:
  type: object
  properties:
    file: {type: string, description: The file to count.}
  required: [file]
---
Counts the lines of a file.
`
	newToolTest = `{
  "files": {"three.txt": "1\n2\n3\n"},
  "valid": [{"file": "three.txt"}]
}
`
	newToolScript = `# The input of the call is on standard input, as JSON. What goes to standard output is the result,
# what goes to standard error is shown as progress. An exit code other than 0 is a failure.
file=$(sed -n 's/.*"file": *"\([^"]*\)".*/\1/p')
echo "counting $file" >&2
wc -l <"$file"
`
)

func newToolsNew(f *toolsFlags) *cobra.Command {
	var user bool
	c := &cobra.Command{
		Use: "new NAME", Short: message("Write a tool that runs a command, to be changed"), Args: exactly(1),
		Long: "Write a tool that runs a command: a file with its contract, a script, and a test. See 'haft help write-tools'.",
		RunE: func(_ *cobra.Command, args []string) error { return createTool(f.Out, args[0], user) },
	}
	c.Flags().BoolVar(&user, "user", false, "write it for all your projects, into ~/.haft/tools")
	return c
}

// createTool writes a tool that does not exist yet.
func createTool(out io.Writer, name string, user bool) error {
	if !knowledge.ValidName(name) {
		return usageError{fmt.Errorf("%q is not a valid name for a tool: use letters, digits, dashes and underscores", name)}
	}
	dir, err := os.Getwd()
	if user {
		dir, err = os.UserHomeDir()
	}
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, ".haft", "tools")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("could not make the folder for tools: %w", err)
	}
	for _, part := range [][2]string{{".md", newToolFile}, {".sh", newToolScript}, {toolTestName, newToolTest}} {
		path, text := filepath.Join(dir, name+part[0]), part[1]
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return usageError{fmt.Errorf("%s exists already. Choose another name", path)}
		}
		if err == nil {
			_, err = file.WriteString(strings.ReplaceAll(text, "NAME", name))
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return fmt.Errorf("could not write the tool: %w", err)
		}
		fmt.Fprintf(out, "Wrote %s\n", path)
	}
	if !user {
		fmt.Fprintln(out, "It counts once you trust it as it is: haft trust")
	}
	fmt.Fprintf(out, "Then test it: haft tools test %s\n", name)
	return nil
}
