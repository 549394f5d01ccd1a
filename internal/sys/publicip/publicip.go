// Package publicip knows which addresses are on the public internet, for
// whatever dials hosts that others name. It has no state.
package publicip

import "net/netip"

// special are the networks that are not the public internet, beside those that
// package netip knows by name.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers, and metadata of some clouds
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), // Teredo and other protocols
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("168.63.129.16/32"), // what the machines of Azure ask about themselves
	netip.MustParsePrefix("fec0::/10"),
}

// embedding are networks whose addresses lead to the IPv4 address at an offset in them.
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"):    12,
	netip.MustParsePrefix("::ffff:0:0:0/96"): 12,
	netip.MustParsePrefix("2002::/16"):       2,
}

// Is reports whether an address is on the public internet.
func Is(ip netip.Addr) bool {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid(), ip.Zone() != "", ip.IsUnspecified(), ip.IsLoopback(), ip.IsPrivate(), ip.IsMulticast(), ip.IsLinkLocalUnicast():
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	for p, at := range embedding {
		if p.Contains(ip) {
			b := ip.As16()
			return Is(netip.AddrFrom4([4]byte(b[at : at+4])))
		}
	}
	return true
}
