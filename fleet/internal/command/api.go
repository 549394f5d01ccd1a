package command

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/api"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/sys/loopback"
)

// apiFlags say where the API of a tenant is.
type apiFlags struct {
	listen, dir, cert, certKey string
	hosts                      []string
	renew                      bool
}

func newAPI(out io.Writer) *cobra.Command {
	join, f := &joinFlags{}, &apiFlags{}
	cmd := &cobra.Command{
		Use: "api", Short: "Serve the page and the HTTP API of 'haft serve' for a fleet", Args: cobra.NoArgs,
		Long: "Serve the page and the HTTP API of 'haft serve' for a fleet, on any machine that can reach the fleet's server.\n" +
			"Several API servers can serve one fleet. 'haft-fleet serve --http ADDRESS' does the same in the server's own process. See 'haft help fleet'.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := join.connect(cmd.Context(), engine.Operator)
			if err != nil {
				return err
			}
			defer conn.Close()
			return f.run(cmd.Context(), out, conn, join.tenant)
		},
	}
	join.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:4281", "address for the page and the API")
	flags.StringVar(&f.dir, "dir", filepath.Join(defaultStore(), "api"), "folder for the token and copies of journals")
	flags.StringVar(&f.cert, "tls-cert", "", "TLS certificate for the page and the API")
	flags.StringVar(&f.certKey, "tls-key", "", "key of the TLS certificate")
	flags.BoolVar(&f.renew, "new-token", false, "create a new token; clients with the old one lose access")
	f.addHost(cmd)
	return cmd
}

func (f *apiFlags) addHost(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "another host name that clients use for the API; may be repeated")
}

// run serves the API of a tenant until ctx ends.
func (f *apiFlags) run(ctx context.Context, out io.Writer, conn *engine.Conn, tenant string) error {
	l, secure, err := f.open()
	if err != nil {
		return err
	}
	defer l.Close()
	home, err := serve.OpenHome(f.dir, f.renew)
	if err != nil {
		return fmt.Errorf("cannot serve the API: %w", err)
	}
	defer home.Close()
	if home.Running != "" {
		return fmt.Errorf("cannot serve the API: process %d already serves one from the folder %s. Choose another folder with --dir", home.PID, f.dir)
	}
	host, _ := os.Hostname() // without one, the process is named
	name := fmt.Sprintf("haft-fleet on %s (process %d)", host, os.Getpid())
	log := logger()
	b, err := api.Open(ctx, &api.Options{Conn: conn, Tenant: tenant, Dir: f.dir, Name: name, Log: log})
	if err != nil {
		return err
	}
	address := l.Addr().(*net.TCPAddr)
	url := f.url(address, secure)
	if err := home.Save(address.Port, url); err != nil {
		return fmt.Errorf("cannot serve the API: %w", err)
	}
	code, err := home.Logins().New()
	if err != nil {
		return fmt.Errorf("cannot serve the API: %w", err)
	}
	fmt.Fprintf(out, "API at %s\nThe token for programs is in %s\nOpen the page, once and within 10 minutes: %s#login=%s\n", url, home.File, url, code)
	s := serve.New(&serve.Options{
		Backend: b, Name: name, Token: home.Token, Hosts: append(slices.Clone(f.hosts), address.IP.String()), Secure: secure, Logins: home.Logins(), Files: page.Files, Version: "fleet", Log: os.Stderr,
	})
	if err := s.Serve(ctx, l); err != nil {
		return fmt.Errorf("the API server stopped: %w", err)
	}
	return nil
}

// open listens. Others are only listened to by TLS: the token would be sent in the clear.
func (f *apiFlags) open() (l net.Listener, secure bool, err error) {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, false, fmt.Errorf("cannot serve the API at %q: give an address and a port, such as 127.0.0.1:4281", f.listen)
	}
	ip := net.ParseIP(host)
	secure = f.cert != "" || f.certKey != ""
	if !secure && !loopback.Host(host) {
		return nil, false, fmt.Errorf("cannot serve the API at %s without TLS: others could read the token in transit. Give --tls-cert and --tls-key, or listen on 127.0.0.1", f.listen)
	}
	if (host == "" || ip != nil && ip.IsUnspecified()) && len(f.hosts) == 0 {
		return nil, false, fmt.Errorf("cannot serve the API at %s: give the host name that clients use with --host", f.listen)
	}
	if l, err = net.Listen("tcp", f.listen); err != nil {
		return nil, false, fmt.Errorf("cannot serve the API: %w", err)
	}
	if !secure {
		return l, false, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.certKey)
	if err != nil {
		l.Close()
		return nil, false, fmt.Errorf("could not read the TLS certificate: %w", err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), true, nil
}

// url is how clients call the API.
func (f *apiFlags) url(address *net.TCPAddr, secure bool) string {
	scheme, name := "http://", address.IP.String()
	if secure {
		scheme = "https://"
	}
	if len(f.hosts) > 0 {
		name = f.hosts[0]
	}
	return scheme + net.JoinHostPort(name, fmt.Sprint(address.Port)) + "/"
}
