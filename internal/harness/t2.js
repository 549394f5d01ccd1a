const {Worker}=require('worker_threads');
const ins=require('inspector');const s=new ins.Session();s.connect();
const t0=Date.now();const fs=require('fs');const say=x=>fs.writeSync(1,'['+(Date.now()-t0)+'] '+x+'\n');
const w=new Worker(`
const ins=require('inspector');const s=new ins.Session();s.connectToMainThread();
require('worker_threads').parentPort.on('message',ms=>setTimeout(()=>s.post('Runtime.terminateExecution',(e,v)=>require('fs').writeSync(1,'term '+JSON.stringify([e,v])+'\\n')),ms));
`,{eval:true});
const ev=(e)=>new Promise(r=>s.post('Runtime.evaluate',{expression:e,replMode:true,awaitPromise:true},(err,v)=>r(JSON.stringify(err||v).slice(0,300))));
globalThis.require=require;
w.on('online',async()=>{
 say(await ev('const x=1;x+1')); say(await ev('const x=5; x'));
 say(await ev('await new Promise(r=>setTimeout(()=>r(7),50))'));
 say(await ev('foo.bar'));
 say(await ev('new Promise(r=>setTimeout(()=>r(7),50))'));
 w.postMessage(200);
 say(await ev('while(true){}')); say(await ev('x'));
 w.postMessage(200);
 say(await Promise.race([ev('await 1; while(true){}'),new Promise(r=>setTimeout(()=>r('no answer'),1000))])); say(await ev('x+2'));
 process.exit(0);
});
setTimeout(()=>process.exit(3),8000);
