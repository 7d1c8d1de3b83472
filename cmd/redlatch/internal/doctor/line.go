package doctor

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"time"
)

var lineChecks = []*Check{
	{
		ID: "plain-password", Level: Warn, Page: "doctor.md#security",
		Means: "The password and everything else cross the network unencrypted.",
		Do:    "Connect by rediss:// or --tls, after giving the server a certificate (tls-port).",
		look: func(ctx context.Context, n *node) answer {
			l, err := n.line(ctx)
			switch o := n.client.Options(); {
			case err != nil:
				return isUnknown(err)
			case l.local || l.secure:
				return isFine()
			default:
				return foundIf(o.Password != "" || o.CredentialsProvider != nil || o.CredentialsProviderContext != nil, "%s", l.remote)
			}
		},
	},
	{
		ID: "open-server", Level: Warn, Page: "doctor.md#security",
		Means: "Everybody who reaches the server over the network may use it without a password.",
		Do:    "Give the default user a password or switch it off: ACL SETUSER default off, after making a user for the programs.",
		look: func(ctx context.Context, n *node) answer {
			l, err := n.line(ctx)
			switch {
			case err != nil:
				return isUnknown(err)
			case l.local:
				return isFine()
			case l.stranger == "":
				return answer{unknown, "it did not answer to a connection without a user"}
			default:
				return foundIf(strings.HasPrefix(l.stranger, "+PONG"), "%s answered to a connection without a user", l.remote)
			}
		},
	},
	{
		ID: "certificate-ends", Level: Warn, Page: "doctor.md#security",
		Means: "The server's certificate ends within 14 days; after that no client gets a connection.",
		Do:    "Renew the certificate, and load it with CONFIG SET tls-cert-file.",
		look: func(ctx context.Context, n *node) answer {
			l, err := n.line(ctx)
			switch {
			case err != nil:
				return isUnknown(err)
			case !l.secure:
				return isBeside("there is no TLS")
			default:
				return foundIf(time.Until(l.ends) < 14*24*time.Hour, "on %s", l.ends.UTC().Format(time.DateOnly))
			}
		},
	},
	{
		ID: "certificate-unverified", Level: Warn, Page: "doctor.md#security",
		Means: "The server's certificate is not verified, so anybody between may read the password and answer in its place.",
		Do:    "Leave --tls-insecure and skip_verify out, and name the authority with --tls-ca.",
		look: func(_ context.Context, n *node) answer {
			config := n.client.Options().TLSConfig
			if config == nil {
				return isBeside("there is no TLS")
			}
			return foundIf(config.InsecureSkipVerify, "the client was told so")
		},
	},
}

var connectionChecks = slices.Concat(settingChecks, lineChecks)

// A line is what is seen of a connection that says nothing of a user.
type line struct {
	remote   string
	local    bool // it does not leave the machine
	secure   bool
	ends     time.Time // of the certificate, or the one of its chain that ends first
	stranger string    // what the server answered to PING
}

func (n *node) line(ctx context.Context) (line, error) {
	return n.lines.of(func() (l line, err error) {
		o := n.client.Options()
		conn, err := o.Dialer(ctx, o.Network, o.Addr)
		if err != nil {
			return l, err
		}
		defer conn.Close()
		l.remote = conn.RemoteAddr().String()
		switch remote := conn.RemoteAddr().(type) {
		case *net.UnixAddr:
			l.local, l.remote = true, o.Addr
		case *net.TCPAddr:
			l.local = remote.IP.IsLoopback()
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		if secured, ok := conn.(*tls.Conn); ok {
			if err := secured.HandshakeContext(ctx); err != nil {
				return l, err
			}
			certificates := secured.ConnectionState().PeerCertificates
			if len(certificates) == 0 {
				return l, errors.New("the server showed no certificate")
			}
			l.secure, l.ends = true, certificates[0].NotAfter
			for _, c := range certificates[1:] {
				if c.NotAfter.Before(l.ends) {
					l.ends = c.NotAfter
				}
			}
		}
		if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err == nil {
			l.stranger, _ = bufio.NewReader(conn).ReadString('\n')
		}
		return l, nil
	})
}
