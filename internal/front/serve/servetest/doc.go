// Package servetest is what every server with the API of 'haft serve' must do, whatever is
// behind it.
//
//	servetest.Run(t, open, nil)
package servetest
