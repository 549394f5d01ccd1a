package publicip_test

import (
	"net/netip"
	"testing"

	"github.com/haftdev/haft/internal/sys/publicip"
)

func TestWhichAddressesArePublic(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.215.14": true, "8.8.8.8": true, "172.32.0.1": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true, "64:ff9b::8.8.8.8": true,
		"127.0.0.1": false, "127.255.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.100.100.200": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "255.255.255.255": false, "224.0.0.1": false, "240.0.0.1": false,
		"192.0.0.192": false, "198.18.0.1": false, "192.0.2.1": false,
		"::": false, "::1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "fec0::1": false, "ff02::1": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "2002:a9fe:a9fe::": false, "2001::1": false, "2001:db8::1": false, "::127.0.0.1": false, "168.63.129.16": false, "::ffff:0:10.0.0.1": false, "::ffff:0:8.8.8.8": true,
	} {
		if got := publicip.Is(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %t, want %t", address, got, want)
		}
	}
}
