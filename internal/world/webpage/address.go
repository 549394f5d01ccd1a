package webpage

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/haftdev/haft/internal/sys/publicip"
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

func (d dialled) public() bool { return publicip.Is(d.ip) }

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
