// Package wiretest checks what is written on the wire against the JSON Schema of
// the protocol, which it derives from the types of package wire.
//
//	check := wiretest.NewChecker()
//	for scanner.Scan() {
//		if err := check.Line(scanner.Bytes()); err != nil {
//			t.Error(err)
//		}
//	}
//
// It is for tests. A Checker is safe for concurrent use.
package wiretest
