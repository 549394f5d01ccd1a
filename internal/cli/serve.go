package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/sys/loopback"
	"github.com/haftdev/haft/internal/text/redact"
	"github.com/haftdev/haft/internal/world/shellrun"
)

type webFlags struct {
	converseFlags
	listen    string
	hosts     []string
	cert, key string
	insecure  bool
	open      bool
	pair      string
	renew     bool
	json      bool
}

func newServe(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &webFlags{converseFlags: converseFlags{Streams: s, reexec: reexec, onAsk: onAskDeny}}
	all := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.Flags.Define(all)
	c := &cobra.Command{
		Use:   "serve",
		Short: message("Watch and control sessions in a browser or from programs"),
		Long: `Serve a page and an HTTP API to watch and control sessions: those that run in
terminals, editors and programs, and those that you start in the page. docs/serve.md
describes the API.

The server listens on this machine only. It prints an address that logs one browser in:
it works once, within 10 minutes. Run 'haft serve' again for another one, even while the
server runs. When the server ends, every browser is logged out. Programs use a token,
which is kept in a file that only you can read. A browser that is logged in, and anyone
who has the token, can do in your sessions what you can, except turn on
bypassPermissions, trust a folder, or change settings other than this project's local
permission rules.

To listen elsewhere, give --listen, a certificate (--tls-cert and --tls-key) and the
host names that clients use for the server (--host). Without a certificate, you need
--insecure: anyone on the network path can then read the token and use it.

--pair shows a QR code that a phone scans to watch sessions and answer questions. The
code works once, within a minute; run 'haft serve --pair' again for another one,
even while the server runs. The phone must be able to reach the server: give the name of
a TLS tunnel with --host https://NAME, or use --listen.

Ctrl-C stops the server and the sessions that run in it; they can be resumed.`,
		Example: `  haft serve
  haft serve --open
  haft serve --pair --host https://box.tail1234.ts.net
  haft serve --listen 0.0.0.0:7420 --host box.example --tls-cert box.crt --tls-key box.key`,
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			credentialsFile().use()
			return f.run(c)
		},
	}
	c.Flags().StringVar(&f.listen, "listen", "", "address to listen on, such as 127.0.0.1:7420; defaults to a free port on this machine, the same as last time if possible")
	c.Flags().StringArrayVar(&f.hosts, "host", nil, "another host name or address that clients use for the server; it does not change where the server listens; use https://NAME for a tunnel or proxy that terminates TLS")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "TLS certificate of the server (PEM file)")
	c.Flags().StringVar(&f.key, "tls-key", "", "private key of the certificate (PEM file)")
	c.Flags().BoolVar(&f.insecure, "insecure", false, "listen beyond this machine without a certificate")
	c.Flags().BoolVar(&f.open, "open", false, "open the page in a browser")
	c.Flags().StringVar(&f.pair, "pair", "", "show a QR code to pair a phone: 'answer' lets it watch and answer, 'full' lets it send prompts as well")
	c.Flags().Lookup("pair").NoOptDefVal = pairAnswer
	c.Flags().BoolVar(&f.renew, "new-token", false, "create a new token; pages and programs that use the old one, and all paired devices, lose access")
	c.Flags().BoolVar(&f.json, "json", false, "write the address as JSON")
	for _, name := range acpFlags {
		c.Flags().AddFlag(all.Lookup(name))
	}
	c.AddCommand(newServeDevices(s)...)
	return c
}

// What a paired device may do.
const (
	pairAnswer = "answer"
	pairFull   = "full"
)

// served is what a program reads.
type served struct {
	URL string `json:"url"`
	// Others are the further addresses, which were given with --host.
	Others    []string `json:"otherUrls,omitempty"`
	TokenFile string   `json:"tokenFile"`
	PID       int      `json:"pid"`
	// Already says that another process serves.
	Already bool `json:"already"`
	// Pair is what a phone opens, and until when.
	Pair *pairCode `json:"pair,omitempty"`

	listens string
}

type pairCode struct {
	URL     string    `json:"url"`
	Full    bool      `json:"full"`
	Expires time.Time `json:"expires"`
}

func (f *webFlags) run(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	home, err := serve.OpenHome(filepath.Join(keep.State(), "serve"), f.renew)
	if err != nil {
		return fmt.Errorf("could not start the server: %w", err)
	}
	defer home.Close()
	if home.Running != "" {
		return f.running(c.Context(), home)
	}
	listeners, err := f.listeners(home)
	if err != nil {
		return fmt.Errorf("could not start the server: %w", err)
	}
	address := listeners[0].Addr().(*net.TCPAddr)
	urls := f.addresses(address)
	if err := f.checkPair(urls); err != nil {
		return err
	}
	if err := home.Save(address.Port, urls[0], urls[1:]...); err != nil {
		return fmt.Errorf("could not start the server: %w", err)
	}
	hosts := f.hosts
	if f.listen != "" && !address.IP.IsUnspecified() {
		hosts = append(slices.Clone(hosts), address.IP.String())
	}
	s := serve.New(&serve.Options{Harness: o.Harness, Talk: o.Talk, Token: home.Token, Hosts: hosts, Devices: home.Devices(), Logins: home.Logins(), Secure: f.cert != "", Files: page.Files, Secrets: redact.Environ(os.Environ()), Export: exportHidden, Version: version(), Log: o.Log})
	if err := f.tell(c.Context(), home, urls, served{PID: os.Getpid(), listens: address.String()}); err != nil {
		return err
	}
	if err := s.Serve(c.Context(), listeners...); err != nil {
		return fmt.Errorf("the server ended: %w", err)
	}
	return nil
}

// check checks combinations of flags.
func (f *webFlags) check() error {
	if (f.cert == "") != (f.key == "") {
		return usageError{errors.New("--tls-cert and --tls-key must be given together")}
	}
	if f.pair != "" && f.pair != pairAnswer && f.pair != pairFull {
		return usageError{fmt.Errorf("--pair=%s: use answer or full", f.pair)}
	}
	if f.listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen %s: give an address and a port, such as 127.0.0.1:7420", f.listen)}
	}
	ip := net.ParseIP(host)
	if !loopback.Host(host) && f.cert == "" && !f.insecure {
		return usageError{fmt.Errorf("--listen %s: others could read the token in transit. Give --tls-cert and --tls-key, or give --insecure", f.listen)}
	}
	if (host == "" || ip != nil && ip.IsUnspecified()) && len(f.hosts) == 0 {
		return usageError{fmt.Errorf("--listen %s: give the host name that clients use for the server with --host", f.listen)}
	}
	return nil
}

// addresses are those of the page: first where the server listens, then the names that were
// given with --host. A server with a certificate is called by its names only, since the
// certificate is for them; so is a server that listens on all addresses.
func (f *webFlags) addresses(listens *net.TCPAddr) []string {
	names := f.hosts
	if len(names) == 0 || f.cert == "" && !listens.IP.IsUnspecified() {
		names = append([]string{listens.IP.String()}, names...)
	}
	var list []string
	for _, name := range names {
		if url := serve.Address(name, fmt.Sprint(listens.Port), f.cert != ""); !slices.Contains(list, url) {
			list = append(list, url)
		}
	}
	return list
}

// listeners are where the server listens.
func (f *webFlags) listeners(home *serve.Home) (list []net.Listener, err error) {
	if f.listen == "" {
		list, err = home.Listen()
	} else {
		var l net.Listener
		l, err = net.Listen("tcp", f.listen)
		list = append(list, l)
	}
	if err != nil || f.cert == "" {
		return list, err
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	for i, l := range list {
		list[i] = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	return list, nil
}

// running says that there is a server already.
func (f *webFlags) running(ctx context.Context, home *serve.Home) error {
	unknown := func(host string) bool { return !home.Has(host) }
	if f.listen != "" || f.renew || f.cert != "" || slices.ContainsFunc(f.hosts, unknown) {
		return fmt.Errorf("could not start the server: process %d is already serving at %s. Stop it first", home.PID, home.Running)
	}
	urls := append([]string{home.Running}, home.Others...)
	if err := f.checkPair(urls); err != nil {
		return err
	}
	return f.tell(ctx, home, urls, served{PID: home.PID, Already: true})
}

// checkPair refuses to pair a phone with a server that it cannot reach.
func (f *webFlags) checkPair(urls []string) error {
	if f.pair != "" && !slices.ContainsFunc(urls, serve.Reachable) {
		return fmt.Errorf("could not pair a phone. %s", serve.Unreachable)
	}
	return nil
}

// tell writes where the server is, and opens the page.
func (f *webFlags) tell(ctx context.Context, home *serve.Home, urls []string, s served) error {
	code, err := home.Logins().New()
	if err != nil {
		return fmt.Errorf("could not create a login code: %w", err)
	}
	s.URL, s.TokenFile = urls[0]+"#login="+code, home.File
	for _, url := range urls[1:] {
		s.Others = append(s.Others, url+"#login="+code)
	}
	drawing := ""
	if f.pair != "" {
		p, err := home.Devices().NewPairing(urls[slices.IndexFunc(urls, serve.Reachable)], f.pair == pairFull)
		if err != nil {
			return fmt.Errorf("could not pair a phone: %w", err)
		}
		s.Pair, drawing = &pairCode{p.URL, p.Full, time.UnixMilli(int64(p.Expires))}, p.Text()
	}
	if f.open {
		if err := openPage(ctx, s); err != nil {
			fmt.Fprintln(f.Err, err)
		}
	}
	if f.json {
		return writeJSON(f.Out, s)
	}
	if s.Already {
		fmt.Fprintf(foldedTo(f.Err), "Process %d is already serving.\n", s.PID)
	}
	if _, err := fmt.Fprintln(f.Out, strings.Join(append([]string{s.URL}, s.Others...), "\n")); err != nil {
		return err
	}
	if drawing != "" {
		fmt.Fprintf(f.Err, "\n%s\nScan this with the phone within a minute, or open %s there.\n'haft serve devices' lists paired devices.\n", drawing, s.Pair.URL)
	}
	if s.Already {
		return nil
	}
	if len(s.Others) > 0 {
		fmt.Fprintf(foldedTo(f.Err), "The server listens at %s. Make sure that the addresses given with --host lead there.\n", s.listens)
	}
	fmt.Fprintf(foldedTo(f.Err), "Open this address in a browser within 10 minutes. It works once; run 'haft serve' again for another one.\nThe token for programs is in %s.\nCtrl-C stops the server.\n", s.TokenFile)
	return nil
}
