package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// Main runs the command of this process and returns its exit code. In the supervisor of shell
// commands, which is the same program, it does not return.
func Main() int {
	reexec := shellrun.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills
	root := newRoot(os.Stdout, reexec)
	root.SetArgs(os.Args[1:])
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "haft-fleet: %s\n", err)
		if errors.Is(err, errFailed) {
			return 3
		}
		return 1
	}
	return 0
}

// errFailed says that a run ended with an error, which was printed.
var errFailed = errors.New("the run failed")

func newRoot(out io.Writer, reexec shellrun.Reexec) *cobra.Command {
	root := &cobra.Command{
		Use: "haft-fleet", Short: "Run haft's sessions on many machines",
		Long: "Run haft's sessions on many machines: 'serve' stores their journals, each 'worker' runs some of them,\n" +
			"'submit' sends them prompts and 'runs' shows their status. See 'haft help fleet'.",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newServe(out), newAPI(out), newWorker(reexec), newSubmit(out), newRuns(out), newQuestions(out), newSchedules(out), newKeys(out), newBackup(out), newRestore(out), newRepair(out), newAudit(out), newCheck(out))
	return root
}

// Check returns why haft-fleet would not take some arguments. It runs nothing.
func Check(args []string) error {
	cmd, rest, err := newRoot(io.Discard, shellrun.Reexec{}).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err == nil && !cmd.HasParent() {
		err = errors.New("there is no command")
	}
	if err != nil {
		return fmt.Errorf("%q: %w", args, err)
	}
	return nil
}

// joinFlags say which fleet a command talks to.
type joinFlags struct {
	url, key, ca, tenant string
}

func (f *joinFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "join", "nats://127.0.0.1:4222", "address of the server; separate several with commas")
	cmd.Flags().StringVar(&f.key, "key", "", "key file; defaults to the one in the store of a server on this machine")
	cmd.Flags().StringVar(&f.ca, "tls-ca", "", "CA certificate that signed the server's certificate")
	cmd.Flags().StringVar(&f.tenant, "tenant", "default", "tenant that the runs belong to")
}

// connect connects with the key that was given, or the one for a role of a server on this machine.
func (f *joinFlags) connect(ctx context.Context, role engine.Role) (*engine.Conn, error) {
	o := &engine.ConnectOptions{Key: f.key, Name: "haft-fleet"}
	if role == engine.Worker {
		o.Log = logger()
	}
	if o.Key == "" {
		if own := engine.KeysIn(defaultStore(), engine.DefaultTenant).File(string(role)); exists(own) {
			o.Key = own
		}
	}
	var err error
	if o.TLS, err = authority(f.ca); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := engine.Connect(ctx, f.url, o)
	if err != nil {
		return nil, err
	}
	conn.User = currentUser()
	if role == engine.Operator && conn.Role == engine.Worker {
		conn.Close()
		return nil, fmt.Errorf("cannot do this with %s, which is a worker's key. Give an operator's key with --key", f.key)
	}
	if err := conn.CheckLayout(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot use %s: %w", f.url, err)
	}
	return conn, nil
}

// currentUser names who runs this process.
func currentUser() string {
	host, _ := os.Hostname() // without one, it is the user alone
	return strings.TrimSuffix(cmp.Or(os.Getenv("USER"), "uid-"+strconv.Itoa(os.Getuid()))+"@"+host, "@")
}

// authority is what servers are checked by: the certificate in a file, or those of the
// system if it names none.
func authority(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("could not read the CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s does not contain a certificate", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// defaultStore is where a server keeps everything unless it is told otherwise.
func defaultStore() string {
	home, _ := os.UserHomeDir() // without one, the store is below the working directory
	return filepath.Join(cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), "haft", "fleet")
}

func logger() *slog.Logger { return slog.New(slog.NewJSONHandler(os.Stderr, nil)) }
