package doctor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// secured has the doctor connect through TLS, by a certificate that is valid for so long.
func secured(valid time.Duration, verify bool) func(*testing.T, *site, *redis.Options) {
	return func(t *testing.T, s *site, o *redis.Options) {
		certificate, authority := issue(t, valid)
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go forward(conn, s.addr)
			}
		}()
		o.Addr = listener.Addr().String()
		o.TLSConfig = &tls.Config{RootCAs: authority, ServerName: "redis.test", InsecureSkipVerify: !verify, MinVersion: tls.VersionTLS12}
	}
}

// forward ends when one side does.
func forward(conn net.Conn, addr string) {
	defer conn.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
}

// issue makes a certificate that is its own authority.
func issue(t *testing.T, valid time.Duration) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{"redis.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
