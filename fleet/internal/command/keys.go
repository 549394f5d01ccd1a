package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// newKeys makes, rotates and revokes keys.
func newKeys(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, rotate, list and revoke keys; run this on the server's machine"}
	var store, tenant string
	var valid time.Duration
	sub := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVar(&store, "store", defaultStore(), "the server's folder")
		c.Flags().StringVar(&tenant, "tenant", engine.DefaultTenant, "tenant that the key belongs to")
		cmd.AddCommand(c)
		return c
	}
	keys := func() *engine.KeyStore { return engine.KeysIn(store, tenant) }
	var to string
	show := func(file string, err error) error {
		if err == nil && to != "" {
			file, err = to, move(file, to)
		}
		if err == nil {
			fmt.Fprintln(out, file)
		}
		return err
	}
	var role string
	var labels, hosts []string
	add := sub(&cobra.Command{
		Use: "add NAME", Short: "Create a key and print the path of its file", Args: cobra.ExactArgs(1),
		Long: "Create a key and print the path of its file. A running server accepts it at once. If there is a key with this name, it is replaced: the old one is accepted for another hour.\n" +
			"A worker's key cannot submit prompts or answer questions. With --label or --host, it can only take runs with these labels, runs of these hosts, and runs for any worker.",
		RunE: func(_ *cobra.Command, args []string) error {
			k := engine.Key{Name: args[0], Role: engine.Role(role), Classes: labels}
			for _, host := range hosts {
				k.Classes = append(k.Classes, runs.OnHost(host))
			}
			return show(keys().Add(k, valid))
		},
	})
	add.Flags().StringVar(&role, "role", string(engine.Worker), "what the key is for: worker or operator")
	add.Flags().StringArrayVar(&labels, "label", nil, "for a worker: only take runs with this label; may be repeated")
	add.Flags().StringArrayVar(&hosts, "host", nil, "for a worker: only take runs that work in folders of this host; may be repeated")
	rotate := sub(&cobra.Command{
		Use: "rotate NAME", Short: "Replace a key; the old one is accepted for another hour", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return show(keys().Rotate(args[0], valid)) },
	})
	for _, c := range []*cobra.Command{add, rotate} {
		c.Flags().StringVar(&to, "to", "", "write the key to this file instead of the store")
		c.Flags().DurationVar(&valid, "expires", engine.KeyTime, "how long the key is valid")
	}
	sub(&cobra.Command{
		Use: "revoke NAME", Short: "Revoke a key at once", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return keys().Revoke(args[0]) },
	})
	var asJSON bool
	ls := sub(&cobra.Command{
		Use: "ls", Short: "List keys", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := keys().List()
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			for _, k := range list {
				if asJSON {
					if err := json.NewEncoder(out).Encode(k); err != nil {
						return err
					}
					continue
				}
				for _, p := range k.Public {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.Role, strings.Join(k.Classes, ","), p.Key, p.Expires.Local().Format(time.DateTime))
				}
			}
			return table.Flush()
		},
	})
	ls.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// move moves the file of a key, also to another disk.
func move(file, to string) error {
	raw, err := os.ReadFile(file)
	if err == nil {
		err = engine.WriteFile(to, raw)
	}
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		return fmt.Errorf("the key is in %s, but could not be written to %s: %w", file, to, err)
	}
	return nil
}
