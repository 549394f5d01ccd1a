// Package webpage fetches pages of the web and reads them.
//
//	web, err := webpage.New(nil)
//	page, err := web.Get(ctx, "https://go.dev/doc/")
//
// A [Page] is text, an image or a PDF. HTML is read as Markdown, other text is
// decoded to UTF-8 whatever charset it is in. Pages are kept for a while, so that
// the parts of a long one come from one fetch.
//
// A [Fetcher] is safe for concurrent use, and there is nothing to close.
//
// Trust: addresses are chosen by a model that may have read something hostile, and
// servers are strangers. Only http and https are spoken, by GET, without cookies,
// credentials or a referrer. Private, link-local, metadata and other addresses that
// are not on the public internet are refused where the connection is made, on the
// very address that is dialled, so that neither a name that resolves to one, nor a
// redirect, nor an answer that changes between two look-ups leads there. A redirect
// to another host is reported and not followed. Size, time, headers and the number
// of redirects are bounded, after decompression. What remains: an address itself
// can carry data out, which is why fetching needs permission; and behind a proxy
// the proxy resolves names, so that only names and literal addresses are checked.
package webpage
