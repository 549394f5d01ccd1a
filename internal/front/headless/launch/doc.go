// Package launch reads how a conversation is to be led from the flags that the
// command line and the SDKs share.
//
//	opts, err := launch.Parse(args, version, os.Stderr)
//	code := headless.Serve(ctx, stream, opts)
//
// Nothing here is started, and no file is read but those that flags name.
package launch
