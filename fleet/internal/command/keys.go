package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// newKeys makes keys for single workers.
func newKeys(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make keys for single workers, on the server's machine"}
	var store, tenant string
	add := &cobra.Command{
		Use: "add WORKER", Short: "Make a key for a worker and print its file", Args: cobra.ExactArgs(1),
		Long: "Make a key for a worker and print its file. The server knows it when it next starts.\n" +
			"To take the key away, remove the file and start the server again.",
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := engine.AddWorkerKey(store, tenant, args[0])
			if err == nil {
				fmt.Fprintln(out, file)
			}
			return err
		},
	}
	add.Flags().StringVar(&store, "store", defaultStore(), "folder of the server")
	add.Flags().StringVar(&tenant, "tenant", engine.DefaultTenant, "whose worker it is")
	cmd.AddCommand(add)
	return cmd
}
