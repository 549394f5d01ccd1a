// Package oracle compares our client of the Messages API with the official SDK:
// what both make of the same streams, and what that costs.
//
//	cd model/anthropic/internal/oracle && go test -bench . ./...
package oracle
