package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// newKeys makes keys for single workers.
func newKeys(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create keys for individual workers; run this on the server's machine"}
	var store, tenant string
	add := &cobra.Command{
		Use: "add WORKER", Short: "Create a key for a worker and print the path of its file", Args: cobra.ExactArgs(1),
		Long: "Create a key for a worker and print the path of its file. The server accepts the key after its next start.\n" +
			"To revoke the key, remove the file and restart the server.",
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := engine.AddWorkerKey(store, tenant, args[0])
			if err == nil {
				fmt.Fprintln(out, file)
			}
			return err
		},
	}
	add.Flags().StringVar(&store, "store", defaultStore(), "the server's folder")
	add.Flags().StringVar(&tenant, "tenant", engine.DefaultTenant, "tenant that the worker belongs to")
	cmd.AddCommand(add)
	return cmd
}
