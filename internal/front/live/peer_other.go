//go:build unix && !linux && !darwin && !freebsd

package live

// peer is not known here; the folder of the socket keeps others out.
func peer(int) (uid int, known bool, err error) { return 0, false, nil }
