// Package engine is NATS JetStream as the fleet uses it: a server inside the process for one
// machine, a connection to it or to a cluster, and the streams that hold journals, prompts,
// tasks, runs and questions.
//
//	srv, err := engine.Start(&engine.ServerOptions{Store: dir})
//	conn, err := engine.Connect(ctx, srv.URL(), &engine.ConnectOptions{Key: srv.Keys().Operator})
//	err = conn.Setup(ctx, 1, engine.Limits{})
//
// Nothing that the engine has acknowledged may be lost, so the server writes everything to
// the disk before it answers, and a cluster that does not is refused by [CheckCluster].
//
// Trust model: keys are scoped by subject and kept from other users by mode. A server that
// others can reach needs TLS.
package engine
