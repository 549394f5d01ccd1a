const {Worker,isMainThread}=require('worker_threads');
const src=`
const ins=require('inspector');const s=new ins.Session();s.connectToMainThread();
const t0=Date.now();
const ev=(e)=>new Promise(r=>s.post('Runtime.evaluate',{expression:e,replMode:true,awaitPromise:true},(err,v)=>r(JSON.stringify(err||v).slice(0,400))));
(async()=>{
 const fs=require('fs');const say=x=>fs.writeSync(1,'['+(Date.now()-t0)+'] '+x+'\\n');
 say(await ev('const x=1;x+1')); say(await ev('const x=5; x'));
 say(await ev('await new Promise(r=>setTimeout(()=>r(7),50))'));
 say(await ev('foo.bar'));
 say(await ev('({a:1})'));
 const p=ev('while(true){}');setTimeout(()=>s.post('Runtime.terminateExecution',(e,v)=>say('term '+JSON.stringify([e,v]))),100);
 say(await p); say(await ev('x'));
 const q=ev('await 1; while(true){}');setTimeout(()=>s.post('Runtime.terminateExecution',(e,v)=>say('term '+JSON.stringify([e,v]))),100);
 say(await Promise.race([q,new Promise(r=>setTimeout(()=>r('no answer'),1000))])); say(await Promise.race([ev('x+2'),new Promise(r=>setTimeout(()=>r('no answer'),1000))]));
 process.exit();
})()
`;
new Worker(src,{eval:true});setInterval(()=>{},1e6);globalThis.require=require;
setTimeout(()=>process.exit(3),8000);
