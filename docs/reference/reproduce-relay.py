#!/usr/bin/env python3
"""Make the golden bytes of the relay protocol once more, from relay-protocol.md alone.

Prints Tests/HearthRelayProtocolTests/Messages/Golden/RelayGoldenBytes.swift; with --check it compares instead.
Needs the `cryptography` package for Ed25519; hashes come from hashlib.
"""
import pathlib
import sys
import hashlib, struct
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as P
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
def var(n):
    o=b''
    while n>=128: o+=bytes([n&127|128]); n>>=7
    return o+bytes([n])
def blob(b): return var(len(b))+b
def frame(t,r,body=b''):
    p=bytes([t])+var(r)+body
    return struct.pack('>I',len(p))+p
def h(d,*parts,n=32,key=b''):
    return hashlib.blake2b(d.encode()+b''.join(parts),digest_size=n,key=key).digest()
def dl(b): return struct.pack('>Q',len(b))+b
def kdf(k,i,ctx): return hashlib.blake2b(b'',digest_size=32,key=k,salt=struct.pack('<Q',i)+bytes(8),person=ctx.encode()+bytes(8)).digest()
def rng(a,n): return bytes((a+i)&255 for i in range(n))
mailbox=rng(0x10,16); relay=rng(0x20,32); pin=rng(0x40,32); rn=rng(0x60,32); cn=rng(0x80,32)
def pair(seed):
    k=P.from_private_bytes(seed); return k,k.public_key().public_bytes(Encoding.Raw,PublicFormat.Raw)
def keyid(pub): return h('HRTH/relay-key-id/v1',pub,n=16)
def sign(k,d,msg): return k.sign(d.encode()+hashlib.blake2b(msg,digest_size=64).digest())
root=kdf(rng(0,32),6,'HRTHracc')   # epoch key 00..1f
seed=h('HRTH/relay-access-key/v1',dl(relay),dl(mailbox),key=root)
acc,accp=pair(seed); man,manp=pair(rng(0xa0,32))
out={}
out['epochAccessKey']=accp
seed=h('HRTH/relay-access-key/v1',dl(relay),dl(mailbox),key=kdf(rng(0,32),3,'HRTHracc'))
out['recoveryAccessKey']=pair(seed)[1]
inv=hashlib.blake2b(b'HRTH/invite/v1'+rng(0,16),digest_size=32).digest()
out['inviteAccessKey']=pair(h('HRTH/relay-access-key/v1',dl(relay),dl(mailbox),key=kdf(inv,5,'HRTHracc')))[1]
out['keyID']=keyid(accp)
bind=relay+pin+rn+cn
proof=sign(acc,'HRTH/relay-access/v1',bind+mailbox+keyid(accp))
out['proof']=proof
author=sign(man,'HRTH/relay-author/v1',bind+mailbox+manp)
parent=b'\2'+rng(0xd0,16)   # a meeting place of mailbox d0..df
def made(credential,parent):
    cd=hashlib.blake2b(struct.pack('>Q',0)+dl(accp)+dl(manp)+dl(credential)+dl(parent),digest_size=32).digest()
    return (sign(acc,'HRTH/relay-create/v1',bind+mailbox+keyid(accp)+cd),
            sign(man,'HRTH/relay-create/v1',bind+mailbox+keyid(manp)+cd))
ca,cm=made(b'token',b''); pa,pm=made(b'',parent)
out['creationByAccessKey']=ca; out['creationByManager']=cm
out['childCreationByAccessKey']=pa; out['childCreationByManager']=pm
out['decoy']=hashlib.blake2b(b'HRTH/relay-decoy/v1'+dl(mailbox),digest_size=16,key=rng(0,32)).digest()
out['pin']=h('HRTH/relay-pin/v1',b'\x30\x03\x02\x01\x05')
out['relayID']=h('HRTH/relay-id/v1',accp)
gen=rng(0xc0,16)
start=hashlib.blake2b(b'HRTH/relay-chain-start/v1'+mailbox+gen,digest_size=32).digest()
def dig(b): return h('HRTH/relay-blob/v1',b)
def nxt(c,pos,kf,name,n,d): return hashlib.blake2b(b'HRTH/relay-chain/v1'+c+struct.pack('>QQ',pos,kf)+dl(name)+struct.pack('>Q',n)+d,digest_size=32).digest()
c1=nxt(start,1,0,b'a',2,dig(b'hi')); c2=nxt(c1,2,1,b'a',0,dig(b'')); c3=nxt(c2,3,2,b'bb',1,dig(b'!'))
out['chainStart']=start; out['chain1']=c1; out['chain3']=c3
cur=gen+var(300)
# Packed after a blob 00..c7 named entry-00, of which 00..bf and the name stay: base 0 to 199.
def new(b): return var((len(b)-1)*2)+b
def old(at,n): return var((n-4)*2+1)+var(at)
def item(flag,name,data,pieces,rest):
    return (bytes([flag])+var(len(name))+var(len(data))+pieces+rest
            +h('HRTH/relay-packed/v1',dl(name),data,n=16)[:4])
one=rng(0,40)+b'!!'+rng(0x80,160)   # what stands in the text of itself begins at 200
packed=var(2)+item(0,b'entry-01',one,old(0,40)+new(b'!!')+old(128,64)+new(rng(0xc0,64))+old(200,22)
                   +old(192,7)+new(b'1'),one[192:])+item(1,b'entry-02',b'',old(192,7)+new(b'2'),b'')
req=[
 frame(1,1,b'HRLY'+var(2)+var(2)),
 frame(2,2,var(3)+mailbox),
 frame(3,3,var(3)+keyid(accp)+cn+proof+b'\1'+cur+b'\0'),
 frame(3,3,var(3)+keyid(accp)+cn+proof+b'\0\0'),
 frame(4,4,var(3)+b'\0'+accp+manp+blob(b'token')+b'\0'+cn+ca+cm),
 frame(4,4,var(3)+b'\0'+accp+manp+blob(b'')+parent+cn+pa+pm),
 frame(5,5,var(3)),
 frame(6,300,var(255)+var(2)+b'\0'+blob(b'a')+blob(b'hi')+b'\1'+blob(b'bb')+blob(b'')),
 frame(7,7,var(3)+var(1)+blob(b'a')),
 frame(8,8,var(3)+var(0)+var(2000)+b'\1\0'),
 frame(9,9,var(3)+var(2)+blob(b'a')+blob(b'bb')),
 frame(10,10,var(3)+var(128)+var(400)),
 frame(11,11,var(3)+b'\0'), frame(11,11,var(3)+b'\1'), frame(12,12,var(3)),
 frame(13,13,var(3)+var(1)+accp),
 frame(14,14,var(3)+manp+b'\2'), frame(15,15,var(3)),
 frame(8,8,var(3)+var(0)+var(1)+b'\1\1'+manp),
 frame(3,3,var(3)+keyid(accp)+cn+proof+b'\0\1'+manp+author),
 frame(0x13,19,var(3)),
 frame(16,0xffffffff), frame(17,17), frame(18,18,var(3)+packed)]
def header(pos,fl,name,n,d): return var(pos)+bytes([fl])+blob(name)+var(n)+d
h1=header(1,0,b'a',2,dig(b'hi')); h2=header(2,1,b'a',0,dig(b'')); h3=header(3,6,b'bb',1,dig(b'!'))
roster=h('HRTH/relay-roster/v1',rng(0,32)+b'\2'+rng(1,32)+b'\1',n=16)
fault=var(6)+var(1500)+blob(b'slow down')
rep=[
 frame(0x41,1,var(2)+relay+b'\1'+var(30)),
 frame(0x42,2,keyid(accp)+rn),
 frame(0x43,3,gen+var(3)+c3+b'\1'+c1+var(2)+b'\2'+roster+var(1000)+var(1<<30)),
 frame(0x43,3,gen+var(3)+c3+b'\2'+var(1)+b'\0'+roster+var(0)+var(1)),
 frame(0x44,6,var(3)+b'\0'+var(300)+b'\1'+var(1)+b'\2'+var(2)),
 frame(0x45,7,var(2)+var(0)+var(301)),
 frame(0x46,8,var(3)+h1+h2+h3+var(3)+var(4)+c3),
 frame(0x47,9,var(2)+b'\0'+b'\1'+blob(b'hi')),
 frame(0x48,10,var(3)+h1+h2+h3+b'!'+var(3)+c3),
 frame(0x49,11,var(3)), frame(0x4a,13,var(2)), frame(0x4b,5), frame(0x4c,16),
 frame(0x4f,6,fault),
 frame(0x81,0,var(3)+var(1)+h3+b'!'),
 frame(0x82,0,var(3)+var(9)),
 frame(0x83,0,var(3)+fault), frame(0x84,0,fault), frame(0x85,0,var(3)+var(300)+packed),
 frame(0x4d,15,var(3)+rng(0,32)+b'\2'+var(300)+var(2)+rng(1,32)+b'\1'+var(0)+var(0)+rng(2,32)+b'\3'+var(1)+var(1)
       +var(128)+var(1))]
def lit(b,ind):
    x=b.hex(); return ('\n'+ind+'  + ').join('"%s"'%x[i:i+80] for i in range(0,len(x),80)) 
lines=['/// The vectors, computed by docs/reference/reproduce-relay.py from the protocol\'s page.',
 'enum RelayGoldenBytes {']
lines+=['  static let %s =\n    %s'%(k,lit(v,'    ')) for k,v in out.items()]
for n,l in(('requests',req),('replies',rep)):
    lines+=['  static let %s = ['%n]+['    '+lit(f,'    ')+',' for f in l]+['  ]']
text='\n'.join(lines+['}'])+'\n'
golden=pathlib.Path(__file__).resolve().parents[2]/'Tests/HearthRelayProtocolTests/Messages/Golden/RelayGoldenBytes.swift'
if sys.argv[1:]==['--check']:
    bare=lambda t:''.join(t.replace(',','').split())
    same=bare(golden.read_text())==bare(text)
    print('relay protocol: the golden bytes are the same' if same else 'relay protocol: OTHER BYTES')
    sys.exit(0 if same else 1)
print(text,end='')
