//go:build darwin || freebsd

package live

import "golang.org/x/sys/unix"

// peer is the user at the other end of a socket.
func peer(fd int) (uid int, known bool, err error) {
	cred, err := unix.GetsockoptXucred(fd, 0, unix.LOCAL_PEERCRED) // 0 is SOL_LOCAL
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}
