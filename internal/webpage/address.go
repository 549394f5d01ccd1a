package webpage

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Refused says that an address is not on the public internet and was not dialled.
type Refused struct {
	Host string // as it was asked for
	Addr netip.Addr
}

func (e *Refused) Error() string {
	if e.Addr.IsValid() && e.Addr.String() != e.Host {
		return fmt.Sprintf("%s is at %s, which is not on the public internet", e.Host, e.Addr)
	}
	return e.Host + " is not on the public internet"
}

// dialled is where a connection is about to go.
type dialled struct {
	ip   netip.Addr
	port string
}

// admit judges the address that a host resolved to.
func (f *Fetcher) admit(host, address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refused{Host: host}
	}
	to := dialled{ap.Addr().Unmap(), strconv.Itoa(int(ap.Port()))}
	if f.public(to) {
		return nil
	}
	for _, p := range f.private {
		if p.covers(host, to) {
			return nil
		}
	}
	return &Refused{Host: host, Addr: to.ip}
}

// admitName judges a host that is not dialled by us, as far as its name tells.
func (f *Fetcher) admitName(host, port string) error {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		if name := strings.TrimSuffix(strings.ToLower(host), "."); name != "localhost" && !strings.HasSuffix(name, ".localhost") {
			return nil
		}
		ip = netip.IPv6Loopback()
	}
	if port == "" {
		port = "0"
	}
	return f.admit(host, net.JoinHostPort(ip.String(), port))
}

// Check says whether an address can be refused by its name alone, before anything is looked
// up or asked.
func (f *Fetcher) Check(address string) error {
	u, err := parse(address)
	if err != nil {
		return err
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	err = f.admitName(host, port)
	if err != nil && f.admit(host, net.JoinHostPort("127.0.0.1", port)) == nil { // localhost has two addresses
		if _, literal := netip.ParseAddr(host); literal != nil {
			return nil
		}
	}
	return err
}

// A permit lets connections go to one host or network that is not public.
type permit struct {
	host string // a name; *. before it stands for any name below
	net  netip.Prefix
	port string // "" is any
}

func (p permit) covers(host string, to dialled) bool {
	if p.port != "" && p.port != to.port {
		return false
	}
	if p.host == "" {
		return p.net.Contains(to.ip)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if below, ok := strings.CutPrefix(p.host, "*."); ok {
		return strings.HasSuffix(name, "."+below)
	}
	return name == p.host
}
